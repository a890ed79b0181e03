import type { ComponentChildren } from 'preact'
import type { Answer } from '../lib/api.ts'
import { useSubmission } from '../lib/hooks.ts'
import type { ChangeRequest } from '../lib/submission.ts'
import { useEffect, useId, useRef } from '../lib/view.ts'
import { ChangeError } from './notice.tsx'

interface DialogProps {
  readonly title: string
  readonly onClose: () => void
  /** Stays open, because an answer is to come. */
  readonly isBusy?: boolean
  readonly children: (close: () => void) => ComponentChildren
}

/** Modal dialog, which keeps the focus until it is closed. The child receives a function that closes it. */
export function Dialog({ title, isBusy = false, onClose, children }: DialogProps) {
  const ref = useRef<HTMLDialogElement | null>(null)
  const id = useId()
  useEffect(() => {
    ref.current?.showModal()
  }, [])
  const stay = (event: Event) => isBusy && event.preventDefault()
  return (
    <dialog ref={ref} aria-labelledby={id} onCancel={stay} onClose={onClose}>
      <h2 id={id}>{title}</h2>
      {children(() => ref.current?.close())}
    </dialog>
  )
}

interface ConfirmProps<Body> {
  readonly title: string
  readonly verb: string
  readonly children: ComponentChildren
  readonly request: ChangeRequest
  readonly onDone: (answer: Answer<Body>) => void
  readonly onClose: () => void
}

/** Dialog that confirms an irreversible action. Stays open with the error if the action fails. */
export function Confirm<Body>({ title, verb, children, request, onDone, onClose }: ConfirmProps<Body>) {
  const { failure, isBusy, submit } = useSubmission()
  const run = (event: Event) => {
    event.preventDefault()
    return submit(request, onDone)
  }
  return (
    <Dialog title={title} isBusy={isBusy} onClose={onClose}>
      {(close: () => void) => (
        <form onSubmit={run}>
          {children}
          {failure && <ChangeError failure={failure} refused="It was not done" />}
          <p class="more">
            <button type="submit" class="danger" disabled={isBusy}>
              {verb}
            </button>
            <button type="button" disabled={isBusy} onClick={close}>
              Cancel
            </button>
          </p>
        </form>
      )}
    </Dialog>
  )
}
