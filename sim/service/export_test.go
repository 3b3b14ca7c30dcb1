package service

// For tests that also run the models of sessions and machines, which import this package.
var (
	Daily       = daily
	Diurnal     = diurnal
	EverySecond = everySecond
)
