-- What the buttons below an answer work with: its value; and for a question that such a button asked, which answer's
-- button it was, and which button. They are deleted with the row.
ALTER TABLE questions ADD COLUMN result jsonb;
ALTER TABLE questions ADD COLUMN parent uuid;
ALTER TABLE questions ADD COLUMN action text NOT NULL DEFAULT '';
