import type { Answer } from '../../lib/api.ts'
import { requestApi } from '../../lib/api.ts'
import type { Trigger } from '../../lib/shapes.ts'
import { pluralize } from '../../lib/time.ts'
import { useState } from '../../lib/view.ts'
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

interface TriggerFormProps {
  readonly watched: Watched
  readonly destinations: readonly (readonly [string, string])[]
  readonly apiKey: string
  readonly credits: number
  readonly onCreated: (answer: Answer<{ data: Trigger }>) => void
}

/** Form that creates a trigger. */
export function TriggerForm({ watched, destinations, apiKey, credits, onCreated }: TriggerFormProps) {
  const { chainId, family, subject, figure, value } = watched
  const isRange = figure === 'in_range'
  const [level, setLevel] = useState(findLevelBelow(String(value)))
  // Suggest the opposite of the current state: the other choice would fire at once.
  const [side, setSide] = useState(String(value === false))
  const [destinationId, setDestinationId] = useState('')
  const body = {
    chain_id: chainId,
    family,
    subject,
    when: isRange ? { figure, is: side === 'true' } : { figure, below: level.trim() },
    webhook_id: destinationId === '' ? null : destinationId,
  }
  const send = (path: string, options: object) => requestApi(path, { ...options, key: apiKey })
  const request = { path: 'v1/triggers', method: 'POST', body } as const
  return (
    <Form request={request} send={send} onDone={onCreated} refused="The trigger was not created">
      {isRange ? (
        <Choice
          label="When it"
          value={side}
          options={[
            ['false', 'leaves its range'],
            ['true', 'is back in its range'],
          ]}
          onValue={setSide}
        />
      ) : (
        <Field
          label="Falls below"
          place="narrow"
          value={level}
          inputmode="decimal"
          required
          autocomplete="off"
          onValue={setLevel}
        />
      )}
      <Choice label="Send it to" value={destinationId} options={destinations} onValue={setDestinationId} />
      <button type="submit" class="main">
        Tell me
      </button>
      <p class="soft full">
        {pluralize(credits, 'credit')} an hour. Without a webhook no message is sent: its state is shown here, and a
        program reads the messages at GET /v1/events. Create webhooks on the Usage page.
      </p>
    </Form>
  )
}
