import { useSubmission } from '../lib/hooks.js'
import { html, useEffect, useId, useRef } from '../lib/view.js'
import { ChangeError } from './notice.js'

/**
 * Modal dialog, which keeps the focus until it is closed. The child receives a function that closes it.
 * @param {{ title: string, onClose: () => void, isBusy?: boolean, children: (close: () => void) => unknown }} props `isBusy`: stays open, because an answer is to come
 */
export function Dialog({ title, isBusy = false, onClose, children }) {
  const ref = useRef(/** @type {HTMLDialogElement | null} */ (null))
  const id = useId()
  useEffect(() => {
    ref.current?.showModal()
  }, [])
  const stay = (/** @type {Event} */ event) => isBusy && event.preventDefault()
  return html`<dialog ref=${ref} aria-labelledby=${id} onCancel=${stay} onClose=${onClose}>
    <h2 id=${id}>${title}</h2>
    ${children(() => ref.current?.close())}
  </dialog>`
}

/**
 * Dialog that confirms an irreversible action. Stays open with the error if the action fails.
 * @param {{ title: string, verb: string, children: unknown, request: import('../lib/submission.js').ChangeRequest, onDone: (answer: import('../lib/api.js').Answer) => void, onClose: () => void }} props
 */
export function Confirm({ title, verb, children, request, onDone, onClose }) {
  const { failure, isBusy, submit } = useSubmission()
  const run = (/** @type {Event} */ event) => {
    event.preventDefault()
    return submit(request, onDone)
  }
  return html`<${Dialog} title=${title} isBusy=${isBusy} onClose=${onClose}>
    ${(/** @type {() => void} */ close) => html`<form onSubmit=${run}>
      ${children}
      ${failure && html`<${ChangeError} failure=${failure} refused="It was not done" />`}
      <p class="more">
        <button type="submit" class="danger" disabled=${isBusy}>${verb}</button>
        <button type="button" disabled=${isBusy} onClick=${close}>Cancel</button>
      </p>
    </form>`}
  <//>`
}
