-- Since when something is left in Slack, or at a service, of a question that was closed from outside: its streams, its
-- status message, its run in the background. A worker removes it (`bot/worker/clear_up.py`).
ALTER TABLE questions ADD COLUMN uncleared_since timestamptz;
