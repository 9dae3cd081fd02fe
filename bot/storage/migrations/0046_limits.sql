-- The limits that a workspace's admins have set: NULL is the limit of the settings, 0 is none.
CREATE TABLE workspace_limits (
    team_id text PRIMARY KEY,
    open_per_person integer CHECK (open_per_person >= 0),
    user_per_minute integer CHECK (user_per_minute >= 0),
    channel_per_minute integer CHECK (channel_per_minute >= 0),
    thread_per_minute integer CHECK (thread_per_minute >= 0),
    per_workspace integer CHECK (per_workspace >= 0)
);

-- The limit that counts, of the one that admins have set and the one of the settings. Where many workspaces share the
-- app (`bounded`), admins can only lower it: a row from before the settings were lowered must not outrank them.
CREATE FUNCTION limit_v1(own integer, host integer, bounded boolean) RETURNS integer LANGUAGE sql IMMUTABLE AS $$
    SELECT CASE WHEN bounded AND host > 0 THEN least(nullif(own, 0), host) ELSE coalesce(own, host) END
$$;

-- All limits that count in a workspace, always one row.
CREATE FUNCTION limits_of_v1(
    team text, open_host integer, user_host integer, channel_host integer, thread_host integer, workspace_host integer,
    bounded boolean)
RETURNS TABLE (
    open_per_person integer, user_per_minute integer, channel_per_minute integer, thread_per_minute integer,
    per_workspace integer)
LANGUAGE sql STABLE AS $$
    SELECT limit_v1(w.open_per_person, open_host, bounded), limit_v1(w.user_per_minute, user_host, bounded),
        limit_v1(w.channel_per_minute, channel_host, bounded), limit_v1(w.thread_per_minute, thread_host, bounded),
        limit_v1(w.per_workspace, workspace_host, bounded)
    FROM (VALUES (team)) AS t (id) LEFT JOIN workspace_limits w ON w.team_id = t.id
$$;
