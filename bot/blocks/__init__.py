"""Answers, results, failures and help as Block Kit messages. Pure; everything leaves through `gate.seal`."""
