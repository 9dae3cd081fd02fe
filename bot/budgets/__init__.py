"""Budgets and limits: amounts, ceilings, and sentences for people. Pure."""
