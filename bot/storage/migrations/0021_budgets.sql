-- One row a call of a paid service, reserved before it is made. Amounts are micro-dollars.
CREATE TABLE ledger (
    id uuid PRIMARY KEY,
    team_id text NOT NULL,
    channel_id text NOT NULL,
    user_id text NOT NULL,
    question_id uuid,
    provider text NOT NULL,
    effort text NOT NULL,
    reserved bigint NOT NULL CHECK (reserved >= 0),
    -- The provider's own figure; of a call that was cut off, what was reserved for it.
    cost bigint CHECK (cost >= 0),
    state text NOT NULL DEFAULT 'reserved' CHECK (state IN ('reserved', 'settled', 'released', 'cut')),
    at timestamptz NOT NULL DEFAULT now(),
    -- When the call was begun, or the run that it began was resumed.
    held_at timestamptz NOT NULL DEFAULT now(),
    ended_at timestamptz
);
CREATE INDEX ledger_of_team ON ledger (team_id, at);
CREATE INDEX ledger_open ON ledger (question_id) WHERE state = 'reserved';
CREATE INDEX ledger_cut ON ledger (question_id) WHERE state = 'cut';

-- What counts against a budget: a user's and a channel's day, a workspace's month. A period is its first day, in UTC.
CREATE TABLE budget_use (
    team_id text NOT NULL,
    scope text NOT NULL CHECK (scope IN ('user', 'channel', 'workspace')),
    subject text NOT NULL,
    period date NOT NULL,
    reserved bigint NOT NULL,
    spent bigint NOT NULL,
    -- The percentage that admins are to be told of, and the one that they were told of.
    noticed integer NOT NULL DEFAULT 0,
    told integer NOT NULL DEFAULT 0,
    PRIMARY KEY (team_id, scope, subject, period)
);

-- The budgets that admins have set; one without a subject is for every user or channel without its own. NULL: no limit.
CREATE TABLE budgets (
    team_id text NOT NULL,
    scope text NOT NULL CHECK (scope IN ('user', 'channel', 'workspace')),
    subject text NOT NULL,
    amount bigint CHECK (amount >= 0),
    user_id text NOT NULL,
    at timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (team_id, scope, subject)
);

-- The workspaces whose admins have paused all spending.
CREATE TABLE spending_pauses (
    team_id text PRIMARY KEY,
    user_id text NOT NULL,
    at timestamptz NOT NULL DEFAULT now()
);

-- What calls have cost: how many are known, and the highest.
CREATE TABLE call_costs (
    provider text NOT NULL,
    effort text NOT NULL,
    calls bigint NOT NULL,
    highest bigint NOT NULL,
    PRIMARY KEY (provider, effort)
);

CREATE FUNCTION budget_of_v1(team text, which text, whose text, fallback bigint) RETURNS bigint LANGUAGE sql STABLE AS $$
    SELECT CASE WHEN own.found THEN own.amount ELSE fallback END
    FROM (SELECT 1) AS one LEFT JOIN LATERAL (
        SELECT true AS found, b.amount FROM budgets b
        WHERE b.team_id = team AND b.scope = which AND b.subject IN (whose, '')
        ORDER BY b.subject DESC LIMIT 1) AS own ON true
$$;

-- What a call counts against: the user's day, the channel's day (not that of a direct message), the workspace's month.
CREATE FUNCTION budget_keys_v1(user_id text, channel_id text, moment timestamptz)
RETURNS TABLE (scope text, subject text, period date) LANGUAGE sql IMMUTABLE AS $$
    SELECT 'user', user_id, (moment AT TIME ZONE 'UTC')::date WHERE user_id <> ''
    UNION ALL
    SELECT 'channel', channel_id, (moment AT TIME ZONE 'UTC')::date WHERE channel_id <> '' AND channel_id NOT LIKE 'D%'
    UNION ALL
    SELECT 'workspace', '', date_trunc('month', moment AT TIME ZONE 'UTC')::date
$$;

-- End calls, then reserve others, in their order; all in one transaction. `ended` has objects with the id, the state and
-- the cost; `wanted` with the id, team_id, channel_id, user_id, question_id, provider, effort, the ceiling to start with
-- and whether it `resumes` a run. The last three are the budgets where admins have set none; NULL is no limit.
-- A ceiling follows what calls have cost as soon as twenty are known: a quarter more than the highest.
CREATE FUNCTION ledger_book_v1(ended jsonb, wanted jsonb, user_day bigint, channel_day bigint, workspace_month bigint)
RETURNS TABLE (
    asked uuid, verdict text, held uuid, amount bigint, exceeded text, allowed bigint, remaining bigint,
    resets double precision)
LANGUAGE plpgsql AS $$
DECLARE
    one record;
    budget record;
    known record;
    counts boolean;
BEGIN
    -- A change of the budgets waits for calls that are being booked, and they for it.
    LOCK TABLE ledger IN ROW EXCLUSIVE MODE;
    counts := user_day IS NOT NULL OR channel_day IS NOT NULL OR workspace_month IS NOT NULL
        OR EXISTS (SELECT FROM budgets) OR EXISTS (SELECT FROM budget_use);
    IF counts THEN
        -- Begin the periods that have a budget, with what was spent before; always in the same order.
        INSERT INTO budget_use (team_id, scope, subject, period, reserved, spent)
        SELECT k.team_id, k.scope, k.subject, k.period, was.reserved, was.spent
        FROM (
            SELECT DISTINCT w.team_id, keys.*
            FROM jsonb_to_recordset(wanted) AS w(team_id text, channel_id text, user_id text)
            CROSS JOIN LATERAL budget_keys_v1(w.user_id, w.channel_id, now()) AS keys
            WHERE budget_of_v1(w.team_id, keys.scope, keys.subject, CASE keys.scope
                    WHEN 'user' THEN user_day WHEN 'channel' THEN channel_day ELSE workspace_month END) IS NOT NULL
                AND NOT EXISTS (
                    SELECT FROM budget_use u WHERE u.team_id = w.team_id AND u.scope = keys.scope
                        AND u.subject = keys.subject AND u.period = keys.period)) AS k
        CROSS JOIN LATERAL (
            SELECT coalesce(sum(l.reserved) FILTER (WHERE l.state = 'reserved'), 0) AS reserved,
                coalesce(sum(l.cost), 0) AS spent
            FROM ledger l
            WHERE l.team_id = k.team_id AND l.at >= k.period::timestamp AT TIME ZONE 'UTC'
                AND CASE k.scope WHEN 'user' THEN l.user_id = k.subject
                    WHEN 'channel' THEN l.channel_id = k.subject ELSE true END) AS was
        ORDER BY k.team_id, k.scope, k.subject, k.period
        ON CONFLICT DO NOTHING;
        PERFORM FROM budget_use u
        WHERE (u.team_id, u.scope, u.subject, u.period) IN (
            SELECT w.team_id, keys.scope, keys.subject, keys.period
            FROM jsonb_to_recordset(wanted) AS w(team_id text, channel_id text, user_id text)
            CROSS JOIN LATERAL budget_keys_v1(w.user_id, w.channel_id, now()) AS keys
            UNION
            SELECT l.team_id, keys.scope, keys.subject, keys.period
            FROM jsonb_to_recordset(ended) AS e(id uuid) JOIN ledger l USING (id)
            CROSS JOIN LATERAL budget_keys_v1(l.user_id, l.channel_id, l.at) AS keys)
        ORDER BY u.team_id, u.scope, u.subject, u.period
        FOR UPDATE;
    END IF;

    IF ended <> '[]' THEN
        WITH found AS MATERIALIZED (
            SELECT l.*, e.state AS becomes,
                CASE e.state WHEN 'settled' THEN e.cost WHEN 'released' THEN 0 ELSE l.reserved END AS costs
            FROM ledger l JOIN jsonb_to_recordset(ended) AS e(id uuid, state text, cost bigint) USING (id)
            WHERE l.state = 'reserved' OR (l.state = 'cut' AND e.state <> 'cut')
            ORDER BY l.id
            FOR UPDATE OF l),
        done AS (
            UPDATE ledger l SET state = f.becomes, cost = f.costs, ended_at = now() FROM found f WHERE l.id = f.id),
        sums AS (
            UPDATE budget_use u SET reserved = u.reserved - d.freed, spent = u.spent + d.spent
            FROM (
                SELECT f.team_id, keys.scope, keys.subject, keys.period,
                    sum(CASE f.state WHEN 'reserved' THEN f.reserved ELSE 0 END) AS freed,
                    sum(f.costs - coalesce(f.cost, 0)) AS spent
                FROM found f CROSS JOIN LATERAL budget_keys_v1(f.user_id, f.channel_id, f.at) AS keys
                WHERE counts
                GROUP BY 1, 2, 3, 4) AS d
            WHERE u.team_id = d.team_id AND u.scope = d.scope AND u.subject = d.subject AND u.period = d.period)
        INSERT INTO call_costs AS known_costs (provider, effort, calls, highest)
        SELECT f.provider, f.effort, count(*), max(f.costs) FROM found f
        WHERE f.becomes = 'settled' AND NOT EXISTS (
            SELECT FROM call_costs c
            WHERE c.provider = f.provider AND c.effort = f.effort AND c.calls >= 20 AND c.highest >= f.costs)
        GROUP BY 1, 2 ORDER BY 1, 2
        ON CONFLICT (provider, effort) DO UPDATE
        SET calls = known_costs.calls + excluded.calls, highest = greatest(known_costs.highest, excluded.highest);
    END IF;

    FOR one IN
        SELECT * FROM jsonb_to_recordset(wanted) AS w(
            id uuid, team_id text, channel_id text, user_id text, question_id uuid, provider text, effort text,
            ceiling bigint, resumes boolean)
    LOOP
        asked := one.id; held := one.id; exceeded := NULL; allowed := NULL; remaining := NULL; resets := NULL;
        SELECT c.calls, c.highest INTO known FROM call_costs c WHERE c.provider = one.provider AND c.effort = one.effort;
        amount := CASE WHEN known.calls >= 20 THEN known.highest + known.highest / 4
            ELSE greatest(one.ceiling, known.highest) END;
        IF EXISTS (SELECT FROM spending_pauses p WHERE p.team_id = one.team_id) THEN
            verdict := 'paused';
            RETURN NEXT;
            CONTINUE;
        END IF;
        IF one.resumes THEN
            -- The run was reserved for, perhaps by a worker that died.
            UPDATE ledger l SET held_at = now()
            WHERE l.id = (
                SELECT o.id FROM ledger o
                WHERE o.question_id = one.question_id AND o.provider = one.provider AND o.effort = one.effort
                    AND o.state IN ('reserved', 'cut')
                ORDER BY o.held_at LIMIT 1 FOR UPDATE SKIP LOCKED)
            RETURNING l.id, l.reserved INTO held, amount;
            IF held IS NOT NULL THEN
                verdict := 'granted';
                RETURN NEXT;
                CONTINUE;
            END IF;
            held := one.id;
            amount := CASE WHEN known.calls >= 20 THEN known.highest + known.highest / 4
                ELSE greatest(one.ceiling, known.highest) END;
        END IF;
        verdict := 'granted';
        IF counts THEN
            FOR budget IN
                SELECT keys.scope, keys.subject, keys.period, coalesce(u.reserved + u.spent, 0) AS used,
                    budget_of_v1(one.team_id, keys.scope, keys.subject, CASE keys.scope
                        WHEN 'user' THEN user_day WHEN 'channel' THEN channel_day ELSE workspace_month END) AS total
                FROM budget_keys_v1(one.user_id, one.channel_id, now()) AS keys
                LEFT JOIN budget_use u ON u.team_id = one.team_id AND u.scope = keys.scope
                    AND u.subject = keys.subject AND u.period = keys.period
            LOOP
                IF budget.used + amount > budget.total THEN
                    verdict := 'over'; exceeded := budget.scope; allowed := budget.total;
                    remaining := greatest(0, budget.total - budget.used);
                    resets := extract(epoch FROM (budget.period
                        + CASE budget.scope WHEN 'workspace' THEN interval '1 month' ELSE interval '1 day' END)
                        AT TIME ZONE 'UTC' - now());
                    IF one.effort IN ('search', 'fast', 'low') THEN
                        UPDATE budget_use u SET noticed = 100
                        WHERE u.team_id = one.team_id AND u.scope = budget.scope AND u.subject = budget.subject
                            AND u.period = budget.period AND u.noticed < 100;
                    END IF;
                    EXIT;
                END IF;
            END LOOP;
        END IF;
        IF verdict = 'granted' THEN
            INSERT INTO ledger (id, team_id, channel_id, user_id, question_id, provider, effort, reserved)
            VALUES (one.id, one.team_id, one.channel_id, one.user_id, one.question_id, one.provider, one.effort, amount);
            IF counts THEN
                UPDATE budget_use u SET reserved = u.reserved + amount
                FROM budget_keys_v1(one.user_id, one.channel_id, now()) AS keys
                WHERE u.team_id = one.team_id AND u.scope = keys.scope AND u.subject = keys.subject
                    AND u.period = keys.period;
            END IF;
        END IF;
        RETURN NEXT;
    END LOOP;
END
$$;
