import { pluralize } from '../../lib/time.ts'
import { classes, useState } from '../../lib/view.ts'
import { Dialog } from '../../part/confirm.tsx'
import type { Context } from '../page.tsx'
import { TriggerPanel } from './list.tsx'

/** Who has a position, and where. */
export interface Owner {
  readonly chainId: number
  readonly wallet: string
}

/** Figure that a bell watches. */
export interface Watched {
  readonly chainId: number
  /** Name in the routes. */
  readonly family: string
  /** All that names it: a family takes the fields that its triggers know. */
  readonly subject: Readonly<Record<string, string>>
  /** Display name. */
  readonly name: string
  readonly figure: 'health_factor' | 'in_range'
  /** Current value. */
  readonly value: string | boolean
}

/** Says what a message of the trigger that is suggested would tell: the opposite of what is so now. */
function describeChange({ figure, value }: Watched) {
  if (figure === 'health_factor') return 'the health factor falls'
  return value === false ? 'the price is back in the range' : 'the price leaves the range'
}

interface TriggerBellProps {
  readonly watched: Watched
  readonly context: Context
  /** Shows the bell alone: its words are for readers of the screen. */
  readonly isBrief?: boolean
}

/**
 * Bell button beside a figure: opens the triggers on it and a form for a new one. Renders nothing if triggers of the service do
 * not watch the figure, or if the view shows the past.
 */
export function TriggerBell({ watched, context, isBrief = false }: TriggerBellProps) {
  const [open, setOpen] = useState(false)
  const { family, figure, subject } = watched
  const watchable = context.catalog.watchable.get(family)
  const names = watchable && [...watchable.figures, ...watchable.states]
  if (watchable === undefined || !names?.includes(figure) || context.view.asOf !== '') return null
  const known = Object.entries(subject).filter(([field, id]) => id && watchable.subject.includes(field))
  const named = { ...watched, subject: Object.fromEntries(known) }
  const title = `Tell me when ${describeChange(watched)}`
  const { triggers, webhooks } = context.catalog.credits
  // Nothing is charged for a list that is empty.
  const price = `up to ${pluralize(triggers + webhooks, 'credit')}`
  return (
    <>
      <button type="button" class="bell small" aria-haspopup="dialog" title={`${title}…`} onClick={() => setOpen(true)}>
        <svg viewBox="0 0 24 24" aria-hidden="true">
          <path d="M6 16.5V11a6 6 0 0 1 12 0v5.5l1.5 2h-15zM10 21h4" />
        </svg>
        <span class={classes(isBrief && 'visually-hidden')}>
          Tell me when…
          <span class="visually-hidden">
            {' '}
            {describeChange(watched)}, {watched.name},
          </span>
        </span>{' '}
        <i class={classes(isBrief && 'visually-hidden')}>{price}</i>
      </button>
      {open && (
        <Dialog title={title} onClose={() => setOpen(false)}>
          {(close: () => void) => (
            <>
              <TriggerPanel watched={named} watchable={watchable} context={context} />
              <p class="more">
                <button type="button" onClick={close}>
                  Close
                </button>
              </p>
            </>
          )}
        </Dialog>
      )}
    </>
  )
}
