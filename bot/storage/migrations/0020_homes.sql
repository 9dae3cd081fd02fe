-- When a person last opened the home tab, and when it is or was shown anew: all processes keep to Slack's pace together.
CREATE TABLE homes (
    team_id text NOT NULL,
    user_id text NOT NULL,
    opened_at timestamptz NOT NULL DEFAULT now(),
    shown_at timestamptz NOT NULL DEFAULT '-infinity',
    PRIMARY KEY (team_id, user_id)
);
