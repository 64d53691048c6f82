# Clones a repository twice: whole, and its last commit only.
set -eu
export GIT_CONFIG_GLOBAL=/dev/null GIT_CONFIG_NOSYSTEM=1 GIT_TERMINAL_PROMPT=0
rm -rf clone shallow
git clone --quiet https://more.metroon.test/pond.git clone
git clone --quiet --depth 1 https://more.metroon.test/pond.git shallow
git -C clone log --format='line %H %s'
git -C shallow log --format='line %H %s'
git -C clone fetch --quiet
