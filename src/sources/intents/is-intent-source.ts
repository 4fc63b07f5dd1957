import type { Source } from '../../capability/source.ts'
import type { IntentSource } from './intent-source.ts'

/** Recognized by its methods, not by its class: servers without intents start without loading the router. */
export const isIntentSource = (source: Source): source is IntentSource =>
  'previewRoute' in source && 'frameReceiver' in source
