"""The work on one question: the job queue, the worker, and its background tasks."""
