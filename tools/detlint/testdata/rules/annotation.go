// Package annotation misuses the escape hatches.
package annotation

func wrong(m map[int]int) {
	for range m { //detlint:ordered // want maporder annotation
	}
	for range m { //detlint:shuffled the word does not exist // want maporder annotation
	}
	//detlint:total the word is another rule's // want annotation
	for range m { // want maporder
	}
	//detlint:ordered nothing below walks over a map // want annotation
	_ = len(m)
	for range m { //detlint:ordered because // want maporder annotation
	}
}
