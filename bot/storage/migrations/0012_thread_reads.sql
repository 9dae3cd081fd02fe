-- When a thread was last read: where Slack allows one call a minute, all processes share it.
CREATE TABLE thread_reads (
    method text PRIMARY KEY,
    at timestamptz NOT NULL DEFAULT now()
);
