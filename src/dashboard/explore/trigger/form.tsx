import type { Answer } from '../../lib/api.ts'
import { requestApi } from '../../lib/api.ts'
import type { Trigger } from '../../lib/shapes.ts'
import { pluralize } from '../../lib/time.ts'
import { useState } from '../../lib/view.ts'
import type { Watchable } from '../../lib/watchable.ts'
import { Choice, Field, Form } from '../../part/field.tsx'
import type { Watched } from './bell.tsx'

/** Suggested thresholds of a health factor, and the lowest: liquidation starts there. */
const LEVELS = ['1.5', '1.25', '1.1', '1.05', '1.02']
const LEVEL_MIN = '1'

/** Returns the highest suggested threshold below the current health factor. `healthFactor`: `MAX` without a debt. */
function findLevelBelow(healthFactor: string) {
  const now = Number(healthFactor)
  return LEVELS.find((level) => Number.isNaN(now) || Number(level) < now) ?? LEVEL_MIN
}

/** What being true and being false means of a state, as ends of "when it …". */
const STATES: Record<string, readonly [isTrue: string, isFalse: string]> = {
  in_range: ['is back in its range', 'leaves its range'],
  is_active: ['has liquidity again', 'has no liquidity any more'],
  is_liquidatable: ['can be liquidated', 'cannot be liquidated any more'],
}

/** Units of figures by the ends of their names. */
const UNITS: readonly (readonly [ending: string, unit: string])[] = [
  ['_usd', 'US dollars'],
  ['_percentage', 'percent'],
  ['_sec', 'seconds'],
]

/** Names a figure: `value, US dollars` of `value_usd`. */
function nameFigure(figure: string) {
  const [ending = '', unit] = UNITS.find(([each]) => figure.endsWith(each)) ?? []
  const name = figure.slice(0, figure.length - ending.length).replaceAll('_', ' ')
  return unit === undefined ? name : `${name}, ${unit}`
}

interface TriggerFormProps {
  readonly watched: Watched
  readonly watchable: Watchable
  readonly destinations: readonly (readonly [string, string])[]
  readonly apiKey: string
  readonly credits: number
  readonly onCreated: (answer: Answer<{ data: Trigger }>) => void
}

/** Form that creates a trigger on any figure that the family has. */
export function TriggerForm({ watched, watchable, destinations, apiKey, credits, onCreated }: TriggerFormProps) {
  const { chainId, family, subject, value } = watched
  const [figure, setFigure] = useState<string>(watched.figure)
  const isState = watchable.states.includes(figure)
  const [level, setLevel] = useState(watched.figure === 'health_factor' ? findLevelBelow(String(value)) : '')
  // Suggest the opposite of the current state: the other choice would fire at once.
  const [is, setIs] = useState(String(value === false))
  const [side, setSide] = useState('below')
  const [destinationId, setDestinationId] = useState('')
  const body = {
    chain_id: chainId,
    family,
    subject,
    when: isState ? { figure, is: is === 'true' } : { figure, [side]: level.trim() },
    webhook_id: destinationId === '' ? null : destinationId,
  }
  const send = (path: string, options: object) => requestApi(path, { ...options, key: apiKey })
  const request = { path: 'v1/triggers', method: 'POST', body } as const
  const chooseFigure = (name: string) => {
    setFigure(name)
    setLevel(name === watched.figure && name === 'health_factor' ? findLevelBelow(String(value)) : '')
    setIs(String(name === watched.figure ? value === false : name === 'is_liquidatable'))
  }
  const [isTrue, isFalse] = STATES[figure] ?? [`is ${nameFigure(figure)}`, `is not ${nameFigure(figure)}`]
  return (
    <Form request={request} send={send} onDone={onCreated} refused="The trigger was not created">
      <Choice
        label="Watch"
        value={figure}
        options={[...watchable.states, ...watchable.figures].map((name) => [name, nameFigure(name)] as const)}
        onValue={chooseFigure}
      />
      {isState ? (
        <Choice
          label="When it"
          value={is}
          options={[
            ['false', isFalse],
            ['true', isTrue],
          ]}
          onValue={setIs}
        />
      ) : (
        <>
          <Choice
            label="When it"
            value={side}
            options={[
              ['below', 'falls'],
              ['above', 'rises'],
            ]}
            onValue={setSide}
          />
          <Field
            label={side === 'below' ? 'Falls below' : 'Rises above'}
            place="narrow"
            value={level}
            inputmode="decimal"
            required
            autocomplete="off"
            onValue={setLevel}
          />
        </>
      )}
      <Choice label="Send it to" value={destinationId} options={destinations} onValue={setDestinationId} />
      <button type="submit" class="main">
        Tell me
      </button>
      <p class="soft full">
        {pluralize(credits, 'credit')} an hour. Its messages come to the end of this page as long as the tab is open,
        and to a webhook if you choose one: create it on the Usage page. Programs read them at GET /v1/events.
      </p>
    </Form>
  )
}
