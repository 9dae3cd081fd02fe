-- A message and its edits ask with one key, to which each edit adds `:edited:` and its time; `:withdrawn` behind it, in
-- `refused_deliveries`, says that the message was deleted. A question is `known` if it was delivered before, or a later
-- edit or the deletion was, or an answer to an earlier one is there, or was stopped. Otherwise it replaces what is
-- open, and `again`, and gets their status message. The rows are locked, so that no worker can save an answer meanwhile.
CREATE FUNCTION earlier_versions_v1(key text, team text, channel text, thread text, person text, again uuid)
RETURNS TABLE (known boolean, replaced uuid[], status_ts text) LANGUAGE sql AS $$
    WITH message AS (SELECT split_part(key, ':edited:', 1) AS key),
    versions AS (
        SELECT q.id, q.message_ts, q.state = 'withdrawn' AS withdrawn,
            q.state IN ('received', 'working', 'delivering') AND q.messages IS NULL AS open,
            q.user_id <> person OR q.delivery_key >= earlier_versions_v1.key COLLATE "C" AS known
        FROM questions q, message m
        WHERE q.team_id = team AND q.channel_id = channel AND q.thread_ts = thread
            AND (q.delivery_key = m.key OR starts_with(q.delivery_key, m.key || ':edited:'))
        FOR UPDATE OF q)
    SELECT
        EXISTS (SELECT FROM questions q WHERE q.delivery_key = earlier_versions_v1.key)
            OR EXISTS (
                SELECT FROM refused_deliveries r, message m
                WHERE r.delivery_key IN (earlier_versions_v1.key, m.key || ':withdrawn'))
            OR coalesce(bool_or(v.known OR NOT (v.open OR v.withdrawn)), false),
        array_remove(array_agg(v.id) FILTER (WHERE v.open) || again, NULL),
        max(v.message_ts) FILTER (WHERE v.open)
    FROM versions v
$$;
