#!/bin/sh
# What the report's browser tests need: Debian's Chromium, and axe-core for the accessibility check.
# Says in one line what is missing and how to get it; the tests are then skipped, not failed.
where=$1/browser
axe=axe-core@4.14.0

if ! command -v chromium >/dev/null && ! command -v google-chrome >/dev/null; then
  if [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null; then
    echo "setting up Chromium ..."
    { apt-get update -qq && apt-get install -y -qq chromium; } >/dev/null 2>&1 ||
      echo "no browser, its tests are skipped; get one with: apt-get install chromium"
  else
    echo "no browser, its tests are skipped; get one with: sudo apt-get install chromium"
  fi
fi

if [ ! -f "$where/node_modules/axe-core/axe.min.js" ]; then
  if command -v npm >/dev/null; then
    mkdir -p "$where"
    npm install --silent --no-audit --no-fund --no-save --prefix "$where" "$axe" >/dev/null 2>&1 ||
      echo "no axe-core, the accessibility check is skipped; get it with: make browser"
  else
    echo "no npm, the accessibility check is skipped; get it with: apt-get install npm"
  fi
fi
exit 0
