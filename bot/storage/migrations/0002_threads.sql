-- Questions are asked in channels and in direct messages, too, and answered in the thread of what asked.
ALTER TABLE questions DROP CONSTRAINT questions_surface_check;
ALTER TABLE questions ADD CONSTRAINT questions_surface_check CHECK (surface IN ('slash', 'click', 'mention', 'im'));
