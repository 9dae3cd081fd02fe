-- What erased people have spent on a day still counts against their budget of that day. Whose a row is only tells a
-- hash with the row's own random salt, and only together with the person's id; the row goes when the day is over.
CREATE TABLE erased_spending (
    team_id text NOT NULL,
    period date NOT NULL,
    salt bytea NOT NULL,
    person bytea NOT NULL,
    spent bigint NOT NULL CHECK (spent >= 0),
    at timestamptz NOT NULL DEFAULT now()
);
CREATE INDEX erased_spending_of_team ON erased_spending (team_id, period);

CREATE FUNCTION salted_person_v1(salt bytea, user_id text) RETURNS bytea LANGUAGE sql IMMUTABLE AS $$
    SELECT sha256(salt || convert_to(user_id, 'UTF8'))
$$;

CREATE FUNCTION erased_spending_of_v1(team text, who text, since date) RETURNS bigint LANGUAGE sql STABLE AS $$
    SELECT coalesce(sum(e.spent), 0)::bigint FROM erased_spending e
    WHERE e.team_id = team AND e.period >= since AND e.person = salted_person_v1(e.salt, who)
$$;

-- A person's day begins with what was spent before an erasure.
CREATE FUNCTION add_erased_spending() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    NEW.spent := NEW.spent + erased_spending_of_v1(NEW.team_id, NEW.subject, NEW.period);
    RETURN NEW;
END $$;
CREATE TRIGGER add_erased_spending BEFORE INSERT ON budget_use FOR EACH ROW
    WHEN (NEW.scope = 'user') EXECUTE FUNCTION add_erased_spending();

-- As ledger_book_v1, but no call of a question that was erased with its asker is booked: it would name them again.
-- Its verdict is 'gone'. An erasure waits for calls that are being booked, and they for it.
CREATE FUNCTION ledger_book_v2(ended jsonb, wanted jsonb, user_day bigint, channel_day bigint, workspace_month bigint)
RETURNS TABLE (
    asked uuid, verdict text, held uuid, amount bigint, exceeded text, allowed bigint, remaining bigint,
    resets double precision)
LANGUAGE plpgsql AS $$
DECLARE
    gone uuid[] := '{}';
BEGIN
    LOCK TABLE ledger IN ROW EXCLUSIVE MODE;
    IF EXISTS (SELECT FROM erased_spending) THEN
        gone := ARRAY(
            SELECT w.id FROM jsonb_to_recordset(wanted) AS w(id uuid, team_id text, user_id text, question_id uuid)
            WHERE w.question_id IS NOT NULL AND NOT EXISTS (SELECT FROM questions q WHERE q.id = w.question_id)
                AND EXISTS (
                    SELECT FROM erased_spending e
                    WHERE e.team_id = w.team_id AND e.person = salted_person_v1(e.salt, w.user_id)));
        RETURN QUERY SELECT g.id, 'gone', g.id, 0::bigint, NULL::text, NULL::bigint, NULL::bigint,
            NULL::double precision FROM unnest(gone) AS g(id);
        wanted := coalesce((
            SELECT jsonb_agg(w.one ORDER BY w.place) FROM jsonb_array_elements(wanted) WITH ORDINALITY AS w(one, place)
            WHERE (w.one ->> 'id')::uuid <> ALL(gone)), '[]');
    END IF;
    RETURN QUERY SELECT * FROM ledger_book_v1(ended, wanted, user_day, channel_day, workspace_month);
END
$$;
