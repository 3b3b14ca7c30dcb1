package recorded_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"orrery/capture/recorded"
	"orrery/scheduler/model"
	"orrery/traces"
)

// A row of an hour that never was yields to the row of the GPU that shows its instant, whichever comes first.
func TestRowsOfAnHourThatNeverWas(t *testing.T) {
	berlin, err := time.LoadLocation("Europe/Berlin")
	require.NoError(t, err)
	row := func(hour, gpu, power string) string {
		return "2020/03/29 " + hour + ":00:00.000, " + gpu + ", " + power + "\n"
	}
	var account recorded.Account
	text := "timestamp, index, power.draw [W]\n" + row("01", "0", "100 W") + row("02", "0", "999 W") + row("03", "0", "300 W") + row("02", "1", "500 W")
	rows, err := recorded.SMICSV([]byte(text), recorded.Options{Node: "n", Zone: berlin, Account: &account})
	require.NoError(t, err)
	at := func(hour int) model.Time {
		return model.Time(time.Date(2020, 3, 29, hour, 0, 0, 0, time.UTC).UnixMicro())
	}
	type sample struct {
		at    model.Time
		gpu   int32
		power float64
	}
	var got []sample
	for _, r := range rows {
		got = append(got, sample{r.Time, r.GPU.V, r.Power.V})
	}
	require.Equal(t, []sample{{at(0), 0, 100}, {at(1), 0, 300}, {at(1), 1, 500}}, got)
	require.Equal(t, traces.Counts{{Rule: "row of a local time that never was, for whose instant there is another", Count: 1, Example: "2020-03-29 02:00:00"}}, account.Left)
}
