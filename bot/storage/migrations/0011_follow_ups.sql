-- A reply in a thread of the app that is a question without a mention.
ALTER TABLE questions DROP CONSTRAINT questions_surface_check;
ALTER TABLE questions ADD CONSTRAINT questions_surface_check
    CHECK (surface IN ('slash', 'click', 'mention', 'im', 'digest', 'follow_up'));
