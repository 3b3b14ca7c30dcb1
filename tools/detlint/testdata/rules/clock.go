// Package clock asks the machine for the time.
package clock

import (
	"context"
	"time"
	wall "time"
)

func wrong(ctx context.Context) {
	_ = time.Now()                                 // want clock
	_ = wall.Since(time.Time{})                    // want clock
	time.Sleep(1)                                  // want clock
	f := time.Until                                // want clock
	_ = f(time.Time{})                             //
	_, cancel := context.WithTimeout(ctx, 1)       // want clock
	cancel()                                       //
	_ = time.Date(1, 1, 1, 0, 0, 0, 0, time.Local) // want clock
	_ = time.Unix(1, 0).String()                   // want clock
	_ = time.Time{}.Local()                        // want clock
}

func right(now time.Time) time.Duration {
	t := time.UnixMicro(5).UTC()
	return now.Sub(t) + time.Duration(now.Unix())
}
