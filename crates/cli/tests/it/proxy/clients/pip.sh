# Installs a package from an index. What pip is told elsewhere is not to count, but for the certificates.
set -eu
unset PIP_FIND_LINKS PIP_NO_INDEX PIP_EXTRA_INDEX_URL
export PIP_CONFIG_FILE=/dev/null
rm -rf packages
"$METROON_CLIENTS_PYTHON" -m pip install --quiet --no-cache-dir --disable-pip-version-check --no-deps --target packages \
  --index-url https://more.metroon.test/simple/ frog==1.0
PYTHONPATH=packages "$METROON_CLIENTS_PYTHON" -B -c 'import frog; print("line", frog.NAME)'
