-- How many seconds after it was written Slack delivered the message that asked; 0 for all but late repetitions.
ALTER TABLE questions ADD COLUMN late_seconds integer NOT NULL DEFAULT 0;
