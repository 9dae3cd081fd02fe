-- What leaves for a question, saved in the transaction that reserves what it may cost, before it leaves: a line of JSON
-- a request. So what was sent is known even if the process is killed meanwhile.
CREATE TABLE sent_requests (
    question_id uuid NOT NULL,
    id uuid NOT NULL,
    at timestamptz NOT NULL DEFAULT now(),
    request text NOT NULL,
    PRIMARY KEY (question_id, id)
);
CREATE INDEX sent_requests_at ON sent_requests USING brin (at);

-- It goes with the text of its question. No foreign key: a booking would lock the question, for which an erasure waits
-- while the booking waits for the erasure.
CREATE FUNCTION forget_sent_requests() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    DELETE FROM sent_requests WHERE question_id = OLD.id;
    RETURN NULL;
END $$;
CREATE TRIGGER forget_sent_requests_of_deleted AFTER DELETE ON questions
    FOR EACH ROW EXECUTE FUNCTION forget_sent_requests();
CREATE TRIGGER forget_sent_requests_of_emptied AFTER UPDATE OF text_deleted_at ON questions
    FOR EACH ROW WHEN (NEW.text_deleted_at IS NOT NULL) EXECUTE FUNCTION forget_sent_requests();

-- As ledger_book_v2, and save what is `leaving`: objects with the id, the question_id, the text, and whether it leaves
-- only `with_call`, if the call with the same id is granted.
CREATE FUNCTION ledger_book_v3(
    ended jsonb, wanted jsonb, leaving jsonb, user_day bigint, channel_day bigint, workspace_month bigint)
RETURNS TABLE (
    asked uuid, verdict text, held uuid, amount bigint, exceeded text, allowed bigint, remaining bigint,
    resets double precision)
LANGUAGE plpgsql AS $$
BEGIN
    RETURN QUERY SELECT * FROM ledger_book_v2(ended, wanted, user_day, channel_day, workspace_month);
    IF leaving <> '[]' THEN
        INSERT INTO sent_requests (question_id, id, request)
        SELECT l.question_id, l.id, l.text
        FROM jsonb_to_recordset(leaving) AS l(id uuid, question_id uuid, text text, with_call boolean)
        JOIN questions q ON q.id = l.question_id AND q.text_deleted_at IS NULL
        WHERE NOT l.with_call OR EXISTS (SELECT FROM ledger c WHERE c.id = l.id);
    END IF;
END
$$;
