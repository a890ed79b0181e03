// SPDX-License-Identifier: MIT
pragma solidity 0.8.27;

/// A resolver of ENS that tells which wallet a name stands for.
contract NameResolver {
    mapping(bytes32 node => address) public addr;

    function set(bytes32 node, address wallet) external {
        addr[node] = wallet;
    }
}

/// The interface of ENS' Universal Resolver: which wallet a name stands for, or why it stands for none. First labels say
/// what goes wrong.
contract UniversalResolver {
    error ResolverNotFound(bytes name);
    error ResolverNotContract(bytes name, address resolver);
    error UnsupportedResolverProfile(bytes4 selector);
    error ResolverError(bytes errorData);
    error OffchainLookup(address sender, string[] urls, bytes callData, bytes4 callback, bytes extraData);

    mapping(bytes32 node => address) private wallets;

    function set(bytes32 node, address wallet) external {
        wallets[node] = wallet;
    }

    function resolve(bytes calldata name, bytes calldata question) external view returns (bytes memory, address) {
        require(bytes4(question) == bytes4(keccak256('addr(bytes32)')));
        bytes32 label = keccak256(name[1:1 + uint8(name[0])]);
        if (label == keccak256('offchain')) {
            revert OffchainLookup(address(this), new string[](1), question, this.resolve.selector, name);
        }
        if (label == keccak256('silent')) revert ResolverError('');
        if (label == keccak256('broken')) revert ResolverNotContract(name, address(1));
        if (label == keccak256('odd')) revert UnsupportedResolverProfile(bytes4(question));
        if (label == keccak256('short')) return (hex'01', address(this));
        if (label == keccak256('none')) return ('', address(this));
        if (label == keccak256('empty')) return (abi.encode(address(0)), address(this));
        address wallet = wallets[bytes32(question[4:36])];
        if (wallet == address(0)) revert ResolverNotFound(name);
        return (abi.encode(wallet), address(this));
    }
}

/// A resolver of all names below its own (ENSIP-10): a name stands for the last 20 bytes of the hash of what DNS writes
/// for it, but for those whose first label says something else.
contract WildcardResolver {
    error OffchainLookup(address sender, string[] urls, bytes callData, bytes4 callback, bytes extraData);

    function supportsInterface(bytes4 id) external pure returns (bool) {
        return id == this.resolve.selector;
    }

    function resolve(bytes calldata name, bytes calldata question) external view returns (bytes memory) {
        require(bytes4(question) == bytes4(keccak256('addr(bytes32)')));
        bytes32 label = keccak256(name[1:1 + uint8(name[0])]);
        if (label == keccak256('offchain')) {
            revert OffchainLookup(address(this), new string[](1), question, this.resolve.selector, name);
        }
        if (label == keccak256('silent')) revert();
        if (label == keccak256('none')) return '';
        if (label == keccak256('short')) return hex'01';
        return abi.encode(address(uint160(uint256(keccak256(name)))));
    }
}
