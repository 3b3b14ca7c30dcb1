package profiles

import "reflect"

func fieldsOfProfile() []field { return fieldsOf(reflect.TypeFor[Profile]()) }
