"""The work on one question: the job queue, the worker, what it starts in the background."""
