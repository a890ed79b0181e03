/**
 * New secrets that the reader has not saved yet. They outlive the part of the page that made them: the service shows each once.
 * @typedef {{ title: string, secret: string, label: string }} UnsavedSecret `label`: of the button that copies it
 */

/** Creates a list of secrets that calls its listeners with all of them at each change. */
export function createUnsavedSecrets() {
  /** @type {readonly UnsavedSecret[]} */
  let secrets = []
  /** @type {Set<(secrets: readonly UnsavedSecret[]) => void>} */
  const listeners = new Set()
  const change = (/** @type {readonly UnsavedSecret[]} */ next) => {
    secrets = next
    for (const listener of listeners) listener(secrets)
  }
  return {
    list: () => secrets,
    add: (/** @type {UnsavedSecret} */ added) => change([...secrets, added]),
    remove: (/** @type {UnsavedSecret} */ saved) => change(secrets.filter((each) => each !== saved)),
    /** Returns a function that removes the listener. @param {(secrets: readonly UnsavedSecret[]) => void} listener */
    onChange(listener) {
      listeners.add(listener)
      return () => void listeners.delete(listener)
    },
  }
}

export const unsavedSecrets = createUnsavedSecrets()
