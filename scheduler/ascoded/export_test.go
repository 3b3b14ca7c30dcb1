package ascoded

// The factors, one by one.
var (
	WaitOf        = waitOf
	BacklogHours  = backlogHours
	BacklogOf     = backlogOf
	CheckpointOf  = checkpointOf
	ConformanceOf = conformanceOf
)
