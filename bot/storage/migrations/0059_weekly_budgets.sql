-- Budgets by week, which begins on Monday, next to those by day and month. The settings know none, only admins set them.
ALTER TABLE budgets DROP CONSTRAINT budgets_scope_check, ADD CONSTRAINT budgets_scope_check
    CHECK (scope IN ('user', 'user_week', 'channel', 'channel_week', 'workspace_week', 'workspace'));
ALTER TABLE budget_use DROP CONSTRAINT budget_use_scope_check, ADD CONSTRAINT budget_use_scope_check
    CHECK (scope IN ('user', 'user_week', 'channel', 'channel_week', 'workspace_week', 'workspace'));

-- The first day of the period of a budget, in UTC.
CREATE FUNCTION budget_period_v1(scope text, moment timestamptz) RETURNS date LANGUAGE sql IMMUTABLE AS $$
    SELECT date_trunc(CASE WHEN scope = 'workspace' THEN 'month' WHEN scope LIKE '%week' THEN 'week' ELSE 'day' END,
        moment AT TIME ZONE 'UTC')::date
$$;

-- The functions are replaced, so that processes of an older version count weeks, too.
CREATE OR REPLACE FUNCTION budget_keys_v1(user_id text, channel_id text, moment timestamptz)
RETURNS TABLE (scope text, subject text, period date) LANGUAGE sql IMMUTABLE AS $$
    SELECT k.scope, k.subject, budget_period_v1(k.scope, moment)
    FROM (VALUES ('user', user_id), ('user_week', user_id), ('channel', channel_id), ('channel_week', channel_id),
        ('workspace_week', ''), ('workspace', '')) AS k (scope, subject)
    WHERE starts_with(k.scope, 'workspace') OR k.subject <> '' AND (
        starts_with(k.scope, 'user') OR k.subject NOT LIKE 'D%')
$$;
CREATE OR REPLACE FUNCTION budget_of_v1(team text, which text, whose text, fallback bigint) RETURNS bigint
LANGUAGE sql STABLE AS $$
    SELECT CASE WHEN own.found THEN own.amount WHEN which NOT LIKE '%week' THEN fallback END
    FROM (SELECT 1) AS one LEFT JOIN LATERAL (
        SELECT true AS found, b.amount FROM budgets b
        WHERE b.team_id = team AND b.scope = which AND b.subject IN (whose, '')
        ORDER BY b.subject DESC LIMIT 1) AS own ON true
$$;
-- ledger_book_v1 begins the week of a person or a channel with what the whole workspace has spent: put that right.
CREATE OR REPLACE FUNCTION add_erased_spending() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF NEW.scope LIKE '%week' THEN
        SELECT coalesce(sum(l.reserved) FILTER (WHERE l.state = 'reserved'), 0), coalesce(sum(l.cost), 0)
        INTO NEW.reserved, NEW.spent FROM ledger l
        WHERE l.team_id = NEW.team_id AND l.at >= NEW.period::timestamp AT TIME ZONE 'UTC'
            AND NEW.subject = CASE NEW.scope WHEN 'user_week' THEN l.user_id ELSE l.channel_id END;
    END IF;
    IF NEW.scope LIKE 'user%' THEN
        NEW.spent := NEW.spent + erased_spending_of_v1(NEW.team_id, NEW.subject, NEW.period);
    END IF;
    RETURN NEW;
END $$;
DROP TRIGGER add_erased_spending ON budget_use;
CREATE TRIGGER add_erased_spending BEFORE INSERT ON budget_use FOR EACH ROW
    WHEN (NEW.scope IN ('user', 'user_week', 'channel_week')) EXECUTE FUNCTION add_erased_spending();

-- A new database begins with $5 for each person and day, unless BUDGET_USER_DAY_USD says otherwise: the budget of every
-- workspace without one. One that was migrated before keeps what it has.
INSERT INTO budgets (team_id, scope, subject, amount, user_id)
SELECT '', 'user', '', 5000000, '' WHERE NOT EXISTS (SELECT FROM schema_migrations WHERE applied_at < now());
