import * as v from 'valibot'
import { instantFrom, instantTo } from '../../http/request/input.ts'
import { idParameter, integerBetween, label } from '../../http/request/schema.ts'
import { defineRoute, type Route } from '../../http/route/route.ts'
import { CodedError } from '../../lib/error.ts'
import { withWords } from '../../lib/text/text_format.ts'
import { AddressError, resolveWebhookTarget } from '../deliver/address.ts'
import { deriveWebhookSecret, formatPublicKey } from '../deliver/sign.ts'
import {
  findWebhook,
  listWebhooks,
  parseWebhook,
  prepareRedelivery,
  prepareRotation,
  prepareWebhook,
  prepareWebhookDeletion,
  prepareWebhookUpdate,
  type Webhook,
  type WebhookRow,
} from '../webhook.ts'
import { FEATURE, LIST_READ, MUTATION, PASS_THROUGH, SINGLE_READ, type TriggerServices } from './route_parts.ts'
import {
  countData,
  idOutput,
  redeliveredOutput,
  secretOutput,
  toIsoOrNull,
  webhookOutput,
  webhooksOutput,
} from './schema.ts'
import { prepareTest } from './test_message.ts'

const NAME_LENGTH_MAX = 100
const OVERLAP_SEC = 86_400
const OVERLAP_SEC_MAX = 7 * 86_400
const REDELIVER_IDS_MAX = 1_000
const REDELIVER_MAX = 10_000
const REDELIVER_MS = 8_000

const oneInput = v.object({ id: v.pipe(idParameter, v.description('Id of the webhook.')) })
const name = withWords('Label of the webhook', label(NAME_LENGTH_MAX))
const url = withWords('Where messages are posted, an https URL', v.string('expected a URL'))
const messageId = v.pipe(v.string('expected ids of messages'), v.uuid('expected ids of messages'))
const EXPECTED_IDS = `expected 1 to ${REDELIVER_IDS_MAX} ids of messages`

const redeliverBody = v.pipe(
  v.strictObject({
    ids: v.optional(
      v.pipe(
        v.array(messageId, EXPECTED_IDS),
        v.minLength(1, EXPECTED_IDS),
        v.maxLength(REDELIVER_IDS_MAX, EXPECTED_IDS),
        v.description('Ids of these messages, instead of from and to'),
      ),
    ),
    from: v.optional(instantFrom),
    to: v.optional(instantTo),
    after: v.optional(withWords('`after` of the answer before, to go on', messageId)),
  }),
  v.check(
    ({ ids, from, to }) => [from, to].every((each) => (each === undefined) === (ids !== undefined)),
    'Cannot read the body: expected either ids, or from and to',
  ),
  v.check(
    ({ ids, after }) => ids === undefined || after === undefined,
    'Cannot read the body: expected after beside from and to alone',
  ),
)

/** The routes of webhooks, which receive messages of triggers. */
export function webhookRoutes(services: () => TriggerServices): readonly Route[] {
  const createPresent = async () => {
    const { key, master } = await services().keys()
    const present = (webhook: Webhook) => ({
      id: webhook.id,
      url: webhook.url,
      name: webhook.name,
      public_key: formatPublicKey(key),
      status: webhook.status,
      failing_since: toIsoOrNull(webhook.failing_since),
      overlap_until: toIsoOrNull(webhook.overlap_until),
      created_at: webhook.created_at.toISOString(),
    })
    return { present, master }
  }
  /** Presents a webhook as its change has left it. */
  const presenter = async () => {
    const { present } = await createPresent()
    return (row: unknown) => ({ data: present(parseWebhook(row as WebhookRow)) })
  }
  /** Presents a webhook with its secret, which is shown only when new. It is derived, so that a repetition shows it too. */
  const revealingPresenter = async () => {
    const { present, master } = await createPresent()
    return (row: unknown) => {
      const webhook = parseWebhook(row as WebhookRow)
      const secret = deriveWebhookSecret(master, { webhookId: webhook.id, generation: webhook.generation })
      return { data: { ...present(webhook), secret } }
    }
  }
  const parts = { ...FEATURE, input: oneInput, errors: [404] } as const
  const base = '/v1/webhooks'

  return [
    defineRoute({
      ...FEATURE,
      ...MUTATION,
      presenter: revealingPresenter,
      method: 'POST',
      path: base,
      summary: 'Makes a webhook: messages of triggers are posted there, signed as Standard Webhooks have it.',
      description: 'The secret is shown here and by rotate only. The URL must be https and lead to public addresses.',
      input: v.object({}),
      body: v.strictObject({ url, name: v.optional(name) }),
      output: secretOutput,
      async prepare({ url, name = '' }) {
        await checkUrl(url, services())
        return prepareWebhook({ url, name })
      },
    }),
    defineRoute({
      ...FEATURE,
      ...PASS_THROUGH,
      ...LIST_READ,
      method: 'GET',
      path: base,
      summary: 'Lists the webhooks, oldest first.',
      input: v.object({}),
      output: webhooksOutput,
      async read(_input, { organizationId }) {
        const webhooks = await listWebhooks(services().db, organizationId)
        const { present } = await createPresent()
        return { data: webhooks.map(present) }
      },
      count: countData,
    }),
    defineRoute({
      ...parts,
      ...SINGLE_READ,
      method: 'GET',
      path: `${base}/:id`,
      summary: 'One webhook and its delivery health.',
      output: webhookOutput,
      async read(request, { organizationId }) {
        const webhook = await findWebhook(services().db, { organizationId, id: request.id })
        const { present } = await createPresent()
        return { data: present(webhook) }
      },
    }),
    defineRoute({
      ...parts,
      ...MUTATION,
      presenter,
      method: 'PATCH',
      path: `${base}/:id`,
      summary: 'Changes URL or name of a webhook, or starts one again that was stopped.',
      body: v.strictObject({
        url: v.optional(url),
        name: v.optional(name),
        status: v.optional(withWords('active: starts it again', v.literal('active', 'expected "active"'))),
      }),
      output: webhookOutput,
      async prepare({ id, url, name, status }) {
        if (url !== undefined) await checkUrl(url, services())
        return prepareWebhookUpdate(id, { url, name, starts: status === 'active' })
      },
    }),
    defineRoute({
      ...parts,
      ...MUTATION,
      method: 'DELETE',
      path: `${base}/:id`,
      summary: 'Deletes a webhook that no trigger posts to. Pending messages are discarded.',
      output: idOutput,
      prepare: async (request) => prepareWebhookDeletion(request.id),
    }),
    defineRoute({
      ...parts,
      ...MUTATION,
      presenter: revealingPresenter,
      method: 'POST',
      path: `${base}/:id/rotate`,
      summary: 'Gives a webhook a new secret. Meanwhile messages are signed with both.',
      body: v.strictObject({
        overlap_sec: v.optional(
          withWords('Seconds for which the secret before signs too', integerBetween(0, OVERLAP_SEC_MAX)),
          OVERLAP_SEC,
        ),
      }),
      output: secretOutput,
      prepare: async (request) => prepareRotation(request.id, request.overlap_sec),
    }),
    defineRoute({
      ...parts,
      ...MUTATION,
      method: 'POST',
      path: `${base}/:id/test`,
      summary: 'Posts a test message to a webhook, ten an hour at most.',
      output: idOutput,
      async prepare(request, { organizationId }) {
        const webhook = await findWebhook(services().db, { organizationId, id: request.id })
        const data = { webhook_id: webhook.id }
        const text = 'This is a test message of walletscope: this webhook works.'
        return prepareTest({ webhookId: webhook.id, triggerId: null, text, data })
      },
    }),
    defineRoute({
      ...parts,
      ...MUTATION,
      presenter: async () => presentRedelivered,
      method: 'POST',
      path: `${base}/:id/redeliver`,
      summary: 'Redelivers failed messages of a webhook: those with these ids, or of this time.',
      description:
        `A request takes ${REDELIVER_MAX} messages at most, the oldest first; if there may be more, ask again with the ` +
        'after of the answer.',
      body: redeliverBody,
      output: redeliveredOutput,
      prepare: async ({ id, ...selection }) =>
        prepareRedelivery(id, { ...selection, most: REDELIVER_MAX, deadlineMs: REDELIVER_MS }),
    }),
  ]
}

function presentRedelivered(result: unknown) {
  const { redelivered, last } = result as { readonly redelivered: number; readonly last: string | null }
  const more = redelivered === REDELIVER_MAX
  return { data: { redelivered, more, after: more ? last : null } }
}

async function checkUrl(text: string, { rules }: TriggerServices): Promise<void> {
  try {
    await resolveWebhookTarget(text, rules)
  } catch (error) {
    if (!(error instanceof AddressError)) throw error
    throw new CodedError('INVALID_PARAMETER', `Cannot read parameter "url": ${error.message}`)
  }
}
