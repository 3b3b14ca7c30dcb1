package main

import (
	"cmp"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"slices"

	"orrery/capture/sensor"
	"orrery/hwmodel"
	"orrery/hwmodel/fit"
	"orrery/scheduler/model"
)

// usualWindow is the longest window of a reading of power that is published, and usualPeriod the
// longest time between two: what is not known of a GPU is no worse.
const (
	usualWindow = model.Second
	usualPeriod = 100 * model.Millisecond
)

// found is what capture sensor says of a column.
type found struct {
	Column     string   `json:"column"`
	Generation *string  `json:"generation"`
	Gain       *float64 `json:"gain"`
	Offset     *float64 `json:"offset_w"`
	OffsetLow  *float64 `json:"offset_low_w"` // nil where it was found at one level alone, or the file is older
	OffsetHigh *float64 `json:"offset_high_w"`
}

// sensorOf gives what is known of the sensors of the GPUs of each model. Telemetry has what
// nvidia-smi calls power.draw.
func sensorOf(path string, gpus []string) (func(int) fit.Sensor, error) {
	out := make([]fit.Sensor, len(gpus))
	kinds := make([]sensor.Kind, len(gpus))
	for i, gpu := range gpus {
		k := sensor.KindOf("power", gpu, "")
		kinds[i] = k
		out[i] = fit.Unmetered(cmp.Or(micros(k.Period), usualPeriod), cmp.Or(micros(k.Window), usualWindow))
	}
	if path != "" {
		f, err := readSensor(path)
		if err != nil {
			return nil, err
		}
		if f.Generation == nil {
			return nil, usagef("--sensor %s: it does not say which GPU was measured: name it by 'orrery capture sensor --gpu MODEL'", quoted(path))
		}
		met := false
		for i := range out {
			if *f.Generation != kinds[i].Generation {
				continue
			}
			met = true
			// The meter was on one card. Others of its kind are as far from it as cards are from one.
			out[i].Gain = hwmodel.Band{Value: *f.Gain, Low: *f.Gain * (1 - sensor.CardBand), High: *f.Gain * (1 + sensor.CardBand)}
			out[i].Offset = f.offset()
			if err := out[i].Validate(); err != nil {
				return nil, usagef("--sensor %s: %w", quoted(path), err)
			}
		}
		if !met {
			return nil, usagef("--sensor %s: it is of the generation %s, and no node type has GPUs of it", quoted(path), *f.Generation)
		}
	}
	return func(typ int) fit.Sensor { return out[typ] }, nil
}

// offset is that with its range; without one it stands alone, and ranges have the gain's.
func (f *found) offset() hwmodel.Band {
	if f.OffsetLow == nil || f.OffsetHigh == nil {
		return hwmodel.Band{Value: *f.Offset, Low: *f.Offset, High: *f.Offset}
	}
	return hwmodel.Band{Value: *f.Offset, Low: *f.OffsetLow, High: *f.OffsetHigh}
}

func micros(seconds float64) model.Duration {
	return model.Duration(math.Round(seconds * float64(model.Second)))
}

// readSensor reads what capture sensor has written: of the column that telemetry has.
func readSensor(path string) (*found, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, input(err)
	}
	var all []found
	if err := json.Unmarshal(text, &all); err != nil {
		return nil, input(fmt.Errorf("%s: found no list of columns, want what 'orrery capture sensor … -o json' prints: %w", quoted(path), err))
	}
	at := slices.IndexFunc(all, func(f found) bool { return f.Column == "power.draw" || f.Column == "power" })
	if at < 0 {
		return nil, input(fmt.Errorf("%s: found no column power.draw, which is what telemetry has, among %d", quoted(path), len(all)))
	}
	f := &all[at]
	if f.Gain == nil || f.Offset == nil {
		return nil, input(fmt.Errorf("%s: found no gain and offset of %s: measure it beside a meter, by orrery capture sensor --meter", quoted(path), f.Column))
	}
	return f, nil
}
