-- What was sent to have a model find the claims of a message, until the person has them checked: a line of JSON a request.
CREATE TABLE proposals (
    id uuid PRIMARY KEY,
    team_id text NOT NULL,
    user_id text NOT NULL,
    sent text NOT NULL,
    at timestamptz NOT NULL DEFAULT now()
);
