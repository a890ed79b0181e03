import { html, useState } from '../lib/view.js'
import { Field, Form } from '../part/field.js'

const NEW = { name: '', rate_limit: 5, trigger_limit: 1000 }

/**
 * Returns the fields that differ from what the form was opened with: the others may have changed elsewhere since.
 * @template {Readonly<Record<string, unknown>>} Fields
 * @param {Fields} before @param {Fields} filled
 */
export function listChanges(before, filled) {
  return Object.fromEntries(Object.entries(filled).filter(([name, value]) => value !== before[name]))
}

/**
 * Form for the name and limits of an organization.
 * @param {{ path: string, method: 'POST' | 'PATCH', organization?: { name: string, rate_limit: number, trigger_limit: number }, label: string, verb: string, refused: string, onDone: (answer: import('../lib/api.js').Answer) => void }} props `label`: label of the name field
 */
export function LimitsForm({ path, method, organization = NEW, label, verb, refused, onDone }) {
  const [name, setName] = useState(organization.name)
  const [limit, setLimit] = useState(String(organization.rate_limit))
  const [triggers, setTriggers] = useState(String(organization.trigger_limit))
  const filled = { name: name.trim(), rate_limit: Number(limit), trigger_limit: Number(triggers) }
  const body = method === 'PATCH' ? listChanges(organization, filled) : filled
  return html`<${Form} request=${{ path, method, body }} onDone=${onDone} refused=${refused}>
    <${Field} label=${label} value=${name} required maxlength="100" onValue=${setName} />
    <${Field} label="Requests a second" place="narrow" type="number" min="1" value=${limit} required onValue=${setLimit} />
    <${Field} label="Triggers" place="narrow" type="number" min="0" value=${triggers} required onValue=${setTriggers} />
    <button type="submit" disabled=${Object.keys(body).length === 0}>${verb}</button>
  <//>`
}
