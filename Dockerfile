# The app as an image: two stages, so that the second holds no installer's leftovers, and an ordinary user.
# docker build --tag web-answers .

FROM python:3.13-slim AS build
ENV PIP_DISABLE_PIP_VERSION_CHECK=1 PIP_NO_CACHE_DIR=1
COPY requirements.txt /build/
# Wheels only: nothing is compiled, so no compiler is needed, and every file has the hash that the lock names.
RUN python -m venv /opt/venv \
    && /opt/venv/bin/pip install --quiet --require-hashes --only-binary :all: --requirement /build/requirements.txt
COPY perplexity /app/perplexity
COPY bot /app/bot
COPY fake_slack /app/fake_slack
RUN /opt/venv/bin/python -m compileall -q /opt/venv/lib /app

FROM python:3.13-slim
RUN groupadd --gid 10001 app \
    && useradd --uid 10001 --gid app --no-create-home --home-dir /nonexistent --shell /usr/sbin/nologin app
COPY --from=build /opt/venv /opt/venv
COPY --from=build /app /app
# The code is compiled and the log is not held back; the file system may be read-only.
ENV PATH=/opt/venv/bin:$PATH PYTHONDONTWRITEBYTECODE=1 PYTHONUNBUFFERED=1 PORT=3000
WORKDIR /app
USER 10001:10001
EXPOSE 3000
STOPSIGNAL SIGTERM
HEALTHCHECK --interval=30s --timeout=5s --start-period=60s --retries=3 \
    CMD ["python", "-c", "import os, urllib.request as u; u.build_opener(u.ProxyHandler({})).open('http://127.0.0.1:' + os.environ['PORT'] + '/healthz', timeout=4)"]
CMD ["python", "-m", "bot", "run"]
