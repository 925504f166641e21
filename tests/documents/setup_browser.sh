#!/bin/sh
# The browser that the tests of pages drive: Debian's Chromium.
# Says in one line what is missing and how to get it; the tests are then skipped, not failed.
if ! command -v chromium >/dev/null && ! command -v google-chrome >/dev/null; then
  if [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null; then
    echo "setting up Chromium ..."
    { apt-get update -qq && apt-get install -y -qq chromium; } >/dev/null 2>&1 ||
      echo "no browser, its tests are skipped; get one with: apt-get install chromium"
  else
    echo "no browser, its tests are skipped; get one with: sudo apt-get install chromium"
  fi
fi
exit 0
