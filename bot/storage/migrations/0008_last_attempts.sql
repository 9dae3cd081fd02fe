-- What a provider did last, among what says whether it needs an admin: read for /readyz, /metrics and /pplx status.
-- The failures are those of ADMINS_OWN in bot/storage/attempts.py.
CREATE INDEX attempts_last ON attempts (provider, at DESC, id DESC) INCLUDE (error_class)
    WHERE error_class IS NULL OR error_class IN ('AuthenticationError', 'BillingError');
