-- Whether an admin has the page for admins open in the home tab, instead of their own questions.
ALTER TABLE homes ADD COLUMN for_admins boolean NOT NULL DEFAULT false;
