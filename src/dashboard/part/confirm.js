import { useSubmission } from '../lib/hooks.js'
import { html, useEffect, useId, useRef, useState } from '../lib/view.js'
import { ErrorNotice } from './notice.js'

/**
 * Modal dialog, which keeps the focus until it is closed. The child receives a function that closes it.
 * @param {{ title: string, onClose: () => void, children: (close: () => void) => unknown }} props
 */
export function Dialog({ title, onClose, children }) {
  const ref = useRef(/** @type {HTMLDialogElement | null} */ (null))
  const id = useId()
  useEffect(() => {
    ref.current?.showModal()
  }, [])
  return html`<dialog ref=${ref} aria-labelledby=${id} onClose=${onClose}>
    <h2 id=${id}>${title}</h2>
    ${children(() => ref.current?.close())}
  </dialog>`
}

/**
 * Dialog that confirms an irreversible action. Stays open with the error if the action fails.
 * @param {{ title: string, verb: string, children: unknown, act: () => Promise<import('../lib/api.js').Answer | import('../lib/api.js').Failure>, onDone: (answer: import('../lib/api.js').Answer) => void, onClose: () => void }} props
 */
export function Confirm({ title, verb, children, act, onDone, onClose }) {
  const { failure, wait } = useSubmission()
  const [busy, setBusy] = useState(false)
  const run = async (/** @type {Event} */ event) => {
    event.preventDefault()
    setBusy(true)
    await wait(act(), onDone)
    setBusy(false)
  }
  return html`<${Dialog} title=${title} onClose=${onClose}>
    ${(/** @type {() => void} */ close) => html`<form onSubmit=${run}>
      ${children}
      ${failure && html`<${ErrorNotice} failure=${failure} title="It was not done" />`}
      <p class="more">
        <button type="submit" class="danger" disabled=${busy}>${verb}</button>
        <button type="button" onClick=${close}>Cancel</button>
      </p>
    </form>`}
  <//>`
}
