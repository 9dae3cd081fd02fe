-- When the text of a settled question was deleted, with its answer; who asked, its state and its cost stay.
ALTER TABLE questions ADD COLUMN text_deleted_at timestamptz;
-- What was sent to search services for a question, as it left: a line of JSON a request.
ALTER TABLE questions ADD COLUMN sent text;
