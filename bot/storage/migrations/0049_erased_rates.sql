-- Erased people who have asked too fast still wait: their bucket is kept as what they have spent is, under a hash with
-- the row's own salt.
ALTER TABLE erased_spending ADD COLUMN full_at timestamptz;

CREATE FUNCTION keep_erased_rate() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    NEW.full_at := greatest(NEW.full_at, (
        SELECT max(e.full_at) FROM erased_spending e
        WHERE e.team_id = NEW.team_id AND e.full_at > NEW.full_at
            AND e.person = salted_person_v1(e.salt, NEW.subject)));
    RETURN NEW;
END $$;
CREATE TRIGGER keep_erased_rate BEFORE INSERT ON rate_limits FOR EACH ROW
    WHEN (NEW.kind = 'user') EXECUTE FUNCTION keep_erased_rate();
