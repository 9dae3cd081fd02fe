-- What is reserved for a call follows what calls have cost, but not without end: one odd figure of a service must not
-- close every budget, nor twenty free calls let any number begin at once. So the highest known cost counts as at least a
-- tenth, and at most eight times, of what is reserved to begin with (bot/budgets/ceilings.py).
CREATE FUNCTION bound_call_cost_v1(effort text, cost bigint) RETURNS bigint LANGUAGE sql IMMUTABLE AS $$
    SELECT least(greatest(cost, c.start / 10), c.start * 8)
    FROM (SELECT CASE effort
        WHEN 'search' THEN 20000
        WHEN 'fast' THEN 20000
        WHEN 'low' THEN 20000
        WHEN 'medium' THEN 100000
        WHEN 'high' THEN 2000000
        WHEN 'xhigh' THEN 2000000
        WHEN 'posts' THEN 500000
        WHEN 'agent' THEN 100000 END::bigint AS start) AS c
$$;

CREATE FUNCTION bound_call_costs() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    NEW.highest := coalesce(bound_call_cost_v1(NEW.effort, NEW.highest), NEW.highest);
    RETURN NEW;
END $$;
CREATE TRIGGER bound_call_costs BEFORE INSERT OR UPDATE ON call_costs FOR EACH ROW EXECUTE FUNCTION bound_call_costs();
UPDATE call_costs SET highest = highest;
