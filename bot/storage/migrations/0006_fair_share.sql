-- Who holds a question: a claim whose commit was not confirmed is recognised when it is tried again.
ALTER TABLE questions ADD COLUMN claimed_by uuid;
-- A person's questions beyond the first few wait here without a job, so that others' come between them.
ALTER TABLE questions ADD COLUMN waiting boolean NOT NULL DEFAULT false;
-- How often the current part was posted to the response_url without a clear reply; each of them may be a copy.
ALTER TABLE questions ADD COLUMN unconfirmed integer NOT NULL DEFAULT 0;

-- Open questions are counted and listed by person, those that wait in the order in which they came.
CREATE INDEX questions_of_person ON questions (team_id, user_id, waiting, received_at)
    WHERE state IN ('received', 'working', 'delivering');
CREATE INDEX questions_waiting ON questions (team_id, user_id, received_at) WHERE waiting AND state = 'received';
-- A thread gets so many answers a minute.
CREATE INDEX questions_of_thread ON questions (team_id, channel_id, thread_ts, received_at) WHERE thread_ts IS NOT NULL;

-- Deliveries that were refused because of a limit: their repetition is neither answered nor refused again.
CREATE TABLE refused_deliveries (
    delivery_key text PRIMARY KEY,
    at timestamptz NOT NULL DEFAULT now()
);

-- When somebody was last told that a thread has had its answers for this minute.
CREATE TABLE thread_notices (
    team_id text NOT NULL,
    channel_id text NOT NULL,
    thread_ts text NOT NULL,
    at timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (team_id, channel_id, thread_ts)
);
