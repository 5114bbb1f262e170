// js-libp2p 3 wants Node 22; this is all that Node 20 lacks of it.
Promise.withResolvers ??= function () {
  const result = {};
  result.promise = new this((resolve, reject) => Object.assign(result, { resolve, reject }));
  return result;
};
