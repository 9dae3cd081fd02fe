-- Which page of the person's own questions the home tab shows, counted from 0.
ALTER TABLE homes ADD COLUMN page integer NOT NULL DEFAULT 0;
