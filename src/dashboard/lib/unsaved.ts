/**
 * New secrets that the reader has not saved yet. They outlive the part of the page that made them: the service shows
 * each once.
 */
interface UnsavedSecret {
  readonly title: string
  readonly secret: string
  /** Label of the button that copies it. */
  readonly label: string
}

/** Creates a list of secrets that calls its listeners with all of them at each change. */
export function createUnsavedSecrets() {
  let secrets: readonly UnsavedSecret[] = []
  const listeners = new Set<(secrets: readonly UnsavedSecret[]) => void>()
  const change = (next: readonly UnsavedSecret[]) => {
    secrets = next
    for (const listener of listeners) listener(secrets)
  }
  return {
    list: () => secrets,
    add: (added: UnsavedSecret) => change([...secrets, added]),
    remove: (saved: UnsavedSecret) => change(secrets.filter((each) => each !== saved)),
    /** Returns a function that removes the listener. */
    onChange(listener: (secrets: readonly UnsavedSecret[]) => void) {
      listeners.add(listener)
      return () => void listeners.delete(listener)
    },
  }
}

export const unsavedSecrets = createUnsavedSecrets()
