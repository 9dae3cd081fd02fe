-- The files of a question's message, by id and name; their contents are never kept.
ALTER TABLE questions ADD COLUMN files jsonb NOT NULL DEFAULT '[]';
