package main

import (
	"os"
	"strconv"
	"time"

	"orrery/reports/page"
)

// made says in a page what made it, and when: SOURCE_DATE_EPOCH, in seconds since 1970,
// stands for the clock, as builds that are to be repeated have it.
func (m *Main) made() page.Made {
	now := time.Now()
	if sec, err := strconv.ParseInt(os.Getenv("SOURCE_DATE_EPOCH"), 10, 64); err == nil {
		now = time.Unix(sec, 0)
	}
	return page.Made{Version: version(), Command: page.CommandLine(m.args), Date: now.UTC().Format(time.RFC3339)}
}
