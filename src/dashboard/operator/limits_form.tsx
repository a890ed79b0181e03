import type { Answer } from '../lib/api.ts'
import { useState } from '../lib/view.ts'
import { Field, Form } from '../part/field.tsx'

const NEW = { name: '', rate_limit: 5, trigger_limit: 1000 }

/** Returns the fields that differ from what the form was opened with: the others may have changed elsewhere since. */
export function listChanges<Fields extends Readonly<Record<string, unknown>>>(before: Fields, filled: Fields) {
  return Object.fromEntries(Object.entries(filled).filter(([name, value]) => value !== before[name]))
}

interface LimitsFormProps<Body> {
  readonly path: string
  readonly method: 'POST' | 'PATCH'
  readonly organization?: { name: string; rate_limit: number; trigger_limit: number }
  /** Label of the name field. */
  readonly label: string
  readonly verb: string
  readonly refused: string
  readonly onDone: (answer: Answer<Body>) => void
}

/** Form for the name and limits of an organization. */
export function LimitsForm<Body>({
  path,
  method,
  organization = NEW,
  label,
  verb,
  refused,
  onDone,
}: LimitsFormProps<Body>) {
  const [name, setName] = useState(organization.name)
  const [limit, setLimit] = useState(String(organization.rate_limit))
  const [triggers, setTriggers] = useState(String(organization.trigger_limit))
  const filled = { name: name.trim(), rate_limit: Number(limit), trigger_limit: Number(triggers) }
  const body = method === 'PATCH' ? listChanges(organization, filled) : filled
  return (
    <Form request={{ path, method, body }} onDone={onDone} refused={refused}>
      <Field label={label} value={name} required maxlength={100} onValue={setName} />
      <Field label="Requests a second" place="narrow" type="number" min={1} value={limit} required onValue={setLimit} />
      <Field label="Triggers" place="narrow" type="number" min={0} value={triggers} required onValue={setTriggers} />
      <button type="submit" disabled={Object.keys(body).length === 0}>
        {verb}
      </button>
    </Form>
  )
}
